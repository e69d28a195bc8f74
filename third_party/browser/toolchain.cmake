# The compiler and the libraries inside the root that make_root.sh makes.
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_FIND_ROOT_PATH /home/page)
set(CMAKE_PREFIX_PATH /home/page /home/page/debian/usr)
file(GLOB FETCHCONTENT_SOURCE_DIR_IMGUI /home/page/sources/imgui-*/)
set(FONTS /home/page/debian/usr/share/fonts)
set(ATTNSCOPE_FONT_INTER ${FONTS}/opentype/inter/Inter-Regular.otf)
set(ATTNSCOPE_FONT_INTER_SEMIBOLD ${FONTS}/opentype/inter/Inter-SemiBold.otf)
set(ATTNSCOPE_FONT_MONO ${FONTS}/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf)
set(ATTNSCOPE_FONT_MATH ${FONTS}/truetype/dejavu/DejaVuSans.ttf)

# Not -mrelaxed-simd: with it, this compiler contracts a * b + c into c * a + b.
set(FLAGS "-fwasm-exceptions -msimd128 -pthread")
set(CMAKE_C_FLAGS_INIT "${FLAGS}")
set(CMAKE_CXX_FLAGS_INIT "${FLAGS}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${FLAGS}")
