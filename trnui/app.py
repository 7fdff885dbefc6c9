"""The Textual app: thin. Screens draw, the store answers, runs live in their folders."""

from __future__ import annotations
