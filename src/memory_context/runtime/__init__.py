"""What every package may use: threads, deadlines, forks, events, telemetry, and the sentences that models read."""
