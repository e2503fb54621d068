"""Test suites for implementations of the profile."""
