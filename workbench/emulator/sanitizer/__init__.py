"""The sanitizer of the emulated device: facts about each instruction, rules for hazards, findings."""
