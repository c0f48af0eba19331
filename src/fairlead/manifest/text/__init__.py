"""From bytes to exact values that know their lines, and to fields that are read one by one."""
