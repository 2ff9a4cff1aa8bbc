"""What translations are worth: sacreBLEU's scores, over all sentences and by their length."""
