"""What translations are worth: sacreBLEU's scores, how sure they are, and where they fall."""
