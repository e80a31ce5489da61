"""Meeting places with other people's software. Import what you need; nothing is loaded here."""
