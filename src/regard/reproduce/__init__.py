"""The papers' tables and figures, one file each, from the rooms before this one."""
