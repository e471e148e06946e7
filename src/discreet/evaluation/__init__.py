"""What a setting is worth: how much is hidden, and how much is still of use."""
