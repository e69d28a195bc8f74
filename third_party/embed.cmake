enable_language(ASM)
if(EMSCRIPTEN)
  set(EMBED_HEAD "    .section .rodata.attn_embedded,\"\",@\n")
else()
  set(EMBED_HEAD "    .section .note.GNU-stack,\"\",%progbits\n    .section .rodata\n")
endif()

# attn_embed_bytes(VARIABLE SYMBOL FILE)
# Appends the assembly that puts a file's bytes between SYMBOL_begin and SYMBOL_end. WebAssembly's linker needs their types and sizes.
function(attn_embed_bytes VARIABLE SYMBOL FILE)
  set(TEXT "    .global ${SYMBOL}_begin, ${SYMBOL}_end\n")
  if(EMSCRIPTEN)
    string(APPEND TEXT "    .type ${SYMBOL}_begin,@object\n    .type ${SYMBOL}_end,@object\n"
                       "    .size ${SYMBOL}_begin, ${SYMBOL}_end-${SYMBOL}_begin\n    .size ${SYMBOL}_end, 1\n")
  endif()
  string(APPEND TEXT "    .balign 16\n${SYMBOL}_begin:\n    .incbin \"${FILE}\"\n${SYMBOL}_end:\n    .byte 0\n")
  set(${VARIABLE} "${${VARIABLE}}${TEXT}" PARENT_SCOPE)
endfunction()

# attn_embed(TARGET FUNCTION FILES FILE... NAMES NAME...)
# Embeds files in the program: TARGET gets a generated source that defines
#   std::span<const attn::app::EmbeddedFile> attn::app::FUNCTION()
# with the files under the given names. The assembler reads the bytes itself, so large files take no compile time,
# and a changed file rebuilds one object.
function(attn_embed TARGET FUNCTION)
  cmake_parse_arguments(PARSE_ARGV 2 EMBED "" "" "FILES;NAMES")
  set(ASSEMBLY "${EMBED_HEAD}")
  set(DECLARATIONS "")
  set(ENTRIES "")
  set(INDEX 0)
  foreach(FILE NAME IN ZIP_LISTS EMBED_FILES EMBED_NAMES)
    set(SYMBOL attn_${FUNCTION}_${INDEX})
    attn_embed_bytes(ASSEMBLY ${SYMBOL} ${FILE})
    string(APPEND DECLARATIONS "extern \"C\" const char ${SYMBOL}_begin[], ${SYMBOL}_end[];\n")
    string(APPEND ENTRIES "        {\"${NAME}\", {${SYMBOL}_begin, static_cast<std::size_t>(${SYMBOL}_end - ${SYMBOL}_begin)}},\n")
    math(EXPR INDEX "${INDEX} + 1")
  endforeach()
  set(ASM_FILE ${CMAKE_CURRENT_BINARY_DIR}/${FUNCTION}.S)
  set(CXX_FILE ${CMAKE_CURRENT_BINARY_DIR}/${FUNCTION}.cpp)
  file(CONFIGURE OUTPUT ${ASM_FILE} CONTENT "${ASSEMBLY}" @ONLY)
  file(CONFIGURE OUTPUT ${CXX_FILE} CONTENT "// Generated at build.

#include <array>

#include \"assets/embedded.hpp\"

${DECLARATIONS}
namespace attn::app {
std::span<const EmbeddedFile> ${FUNCTION}() {
    static const std::array<EmbeddedFile, ${INDEX}> kFiles{{
${ENTRIES}    }};
    return kFiles;
}
}  // namespace attn::app
" @ONLY)
  set_source_files_properties(${ASM_FILE} PROPERTIES OBJECT_DEPENDS "${EMBED_FILES}")
  target_sources(${TARGET} PRIVATE ${ASM_FILE} ${CXX_FILE})
endfunction()

# attn_embed_text(TARGET NAME FILE)
# Embeds one file in TARGET: its bytes are between the symbols NAME_begin and NAME_end.
function(attn_embed_text TARGET NAME FILE)
  set(ASM_FILE ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.S)
  set(ASSEMBLY "${EMBED_HEAD}")
  attn_embed_bytes(ASSEMBLY ${NAME} ${FILE})
  file(CONFIGURE OUTPUT ${ASM_FILE} CONTENT "${ASSEMBLY}" @ONLY)
  set_source_files_properties(${ASM_FILE} PROPERTIES OBJECT_DEPENDS ${FILE})
  target_sources(${TARGET} PRIVATE ${ASM_FILE})
endfunction()
