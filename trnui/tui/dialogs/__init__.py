"""Help, command palette, dataset card, copy and export."""
