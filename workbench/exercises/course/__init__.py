"""The exercises of the tutorials, one per file: e04_2.py has "04.2", exercise 2 of notebook 04."""
