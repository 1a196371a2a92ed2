"""Sentences for people: taking them from the source into the catalogues, and finding those that are in none.

`make messages` brings both catalogues up to date and compiles the Chinese one; no gettext programs are needed.
"""
