"""The parts of a run's screens as styled lines: functions of a snapshot, no widget."""
