"""What every package may use: threads, deadlines, forks, events and telemetry."""
