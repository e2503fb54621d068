"""What changed between two models: nodes, constants, findings, evidence."""
