"""What a user needs to qualify the tool in their own environment."""
