"""The record of who used what and when: entries, windows and decayed sums; all of it pure."""
