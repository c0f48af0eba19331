"""Why a job starts, gives way or waits, with the numbers that were compared."""
