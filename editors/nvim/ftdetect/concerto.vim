autocmd BufRead,BufNewFile *.conc setfiletype concerto
