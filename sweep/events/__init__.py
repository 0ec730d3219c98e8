"""Simulators: the same hardware as in `models`, event by event, to prove the formulas and to go where none reaches."""
