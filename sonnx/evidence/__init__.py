"""What an auditor keeps: evidence packs, the qualification kit, traceability, the canonical form of a model."""
