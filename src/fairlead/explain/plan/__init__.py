"""A plan as a table, as a document, compared with another, and carried out for several cycles."""
