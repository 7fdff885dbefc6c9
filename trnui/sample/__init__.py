"""The bundled sample: rows that the bundled runner really produced on a CPU, and the tiny checkpoints they are about."""
