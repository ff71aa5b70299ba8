"""Services that every package may use: threads, deadlines, forks, signals, files, patterns, events and telemetry."""
