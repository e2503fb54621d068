"""The profile as frozen objects, read from restrictions/: operators, rules, signatures, editions, errata, cases."""
