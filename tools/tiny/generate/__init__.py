"""Synthetic conversations that the tiny model is trained and measured on."""
