"""Before a row runs: its checkpoint, its size, the time and price it may take, and the cores it goes to."""
