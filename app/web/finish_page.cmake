# cmake -DPAGE=<folder> -DINDEX=<file> -P finish_page.cmake: writes index.html, which knows how large the program is, for the bar, and
# compresses what is large.
file(SIZE ${PAGE}/attnscope.wasm BYTES)
file(READ ${INDEX} TEXT)
string(REPLACE "<body>" "<body data-bytes=\"${BYTES}\">" TEXT "${TEXT}")
file(WRITE ${PAGE}/index.html "${TEXT}")
foreach(NAME attnscope.wasm attnscope.js)
  if(NOT ${PAGE}/${NAME} IS_NEWER_THAN ${PAGE}/${NAME}.br)
    continue()
  endif()
  execute_process(COMMAND gzip -9 --keep --force ${PAGE}/${NAME} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND brotli --best --keep --force ${PAGE}/${NAME} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
