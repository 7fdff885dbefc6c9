"""Batches on screen: lines on top of view 4, and a screen of their own."""
