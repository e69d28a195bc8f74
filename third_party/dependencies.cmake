# Every dependency is one imported target, found on the system or else fetched at a pinned hash.
# libzip, Oniguruma, utf8proc, libpng and OpenGL must come from the system: every desktop has them, and they need further libraries.
# FETCHCONTENT_FULLY_DISCONNECTED=ON forbids fetching.
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
# g++'s OpenMP runtime is not instrumented, so the thread sanitizer would report false races. Emscripten has none.
if(NOT ATTNSCOPE_SANITIZE MATCHES "thread" AND NOT EMSCRIPTEN)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET GLOBAL libzip)
pkg_check_modules(ONIGURUMA REQUIRED IMPORTED_TARGET GLOBAL oniguruma)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET GLOBAL libutf8proc)
set_target_properties(PkgConfig::UTF8PROC PROPERTIES INTERFACE_COMPILE_OPTIONS "")  # Debian's flags are for building the library itself
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

find_package(nlohmann_json 3.10 QUIET)
if(NOT TARGET nlohmann_json::nlohmann_json)
  set(JSON_BuildTests OFF CACHE INTERNAL "")
  FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git
    GIT_TAG bc889afb4c5bf1c0d8ee29ef35eaaf4c8bef8a5d)  # 3.11.2
  FetchContent_MakeAvailable(nlohmann_json)
endif()

find_package(Eigen3 3.4 QUIET NO_MODULE)
if(NOT TARGET Eigen3::Eigen)
  # Only the headers: Eigen's own build would bring tests and Fortran.
  FetchContent_Declare(eigen URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
    URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72 SOURCE_SUBDIR headers-alone)
  FetchContent_MakeAvailable(eigen)
  add_library(attn_eigen INTERFACE)
  target_include_directories(attn_eigen SYSTEM INTERFACE ${eigen_SOURCE_DIR})
  add_library(Eigen3::Eigen ALIAS attn_eigen)
endif()

find_package(fmt 9 QUIET)
if(NOT TARGET fmt::fmt)
  FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git
    GIT_TAG a33701196adfad74917046096bf5a2aa0ab0bb50)  # 9.1.0
  FetchContent_MakeAvailable(fmt)
endif()

if(ATTNSCOPE_BUILD_APP)
  find_package(PNG REQUIRED)

  find_package(CLI11 2.1 QUIET)
  if(NOT TARGET CLI11::CLI11)
    FetchContent_Declare(cli11 URL https://github.com/CLIUtils/CLI11/archive/v2.1.2.tar.gz
      URL_HASH SHA256=26291377e892ba0e5b4972cdfd4a2ab3bf53af8dac1f4ea8fe0d1376b625c8cb)
    FetchContent_MakeAvailable(cli11)
  endif()

  if(EMSCRIPTEN)
    # It has a GLFW of its own, and WebGL without a loader.
    add_library(glfw INTERFACE)
    target_link_options(glfw INTERFACE -sUSE_GLFW=3 -sMIN_WEBGL_VERSION=2 -sMAX_WEBGL_VERSION=2)
    add_library(glad INTERFACE)
  else()
    find_package(OpenGL REQUIRED)
    include(${CMAKE_CURRENT_LIST_DIR}/glad.cmake)
    find_package(glfw3 3.3 QUIET)
  endif()
  if(NOT TARGET glfw)
    foreach(PART DOCS TESTS EXAMPLES)
      set(GLFW_BUILD_${PART} OFF CACHE INTERNAL "")
    endforeach()
    set(GLFW_INSTALL OFF CACHE INTERNAL "")
    FetchContent_Declare(glfw GIT_REPOSITORY https://github.com/glfw/glfw.git
      GIT_TAG 7482de6071d21db77a7236155da44c172a7f6c9e)  # 3.3.8
    FetchContent_MakeAvailable(glfw)
  endif()

  pkg_check_modules(FONTCONFIG QUIET IMPORTED_TARGET GLOBAL fontconfig)  # optional: fonts for more scripts

  pkg_check_modules(DBUS QUIET IMPORTED_TARGET GLOBAL dbus-1)  # optional: the desktop's own file dialog
  if(NOT DBUS_FOUND)
    message(STATUS "libdbus-1 was not found (libdbus-1-dev): only attnscope's own file dialog is available")
  endif()

  pkg_check_modules(IMGUI QUIET IMPORTED_TARGET GLOBAL imgui)
  if(NOT TARGET PkgConfig::IMGUI)
    # ImGui has no CMake build: compile the core and two backends, like Debian's library.
    FetchContent_Declare(imgui URL https://github.com/ocornut/imgui/archive/v1.86.tar.gz
      URL_HASH SHA256=6ba6ae8425a19bc52c5e067702c48b70e4403cd339cba02073a462730a63e825)
    FetchContent_MakeAvailable(imgui)
    add_library(attn_imgui STATIC
      ${imgui_SOURCE_DIR}/imgui.cpp ${imgui_SOURCE_DIR}/imgui_draw.cpp ${imgui_SOURCE_DIR}/imgui_tables.cpp
      ${imgui_SOURCE_DIR}/imgui_widgets.cpp ${imgui_SOURCE_DIR}/misc/cpp/imgui_stdlib.cpp
      ${imgui_SOURCE_DIR}/backends/imgui_impl_glfw.cpp ${imgui_SOURCE_DIR}/backends/imgui_impl_opengl3.cpp)
    target_include_directories(attn_imgui SYSTEM PUBLIC ${imgui_SOURCE_DIR} ${imgui_SOURCE_DIR}/misc/cpp)
    target_link_libraries(attn_imgui PUBLIC glfw ${CMAKE_DL_LIBS})
    if(EMSCRIPTEN)
      target_compile_definitions(attn_imgui PUBLIC IMGUI_IMPL_OPENGL_ES3)
    endif()
    add_library(PkgConfig::IMGUI ALIAS attn_imgui)
  endif()
endif()

if(ATTNSCOPE_BUILD_TESTS)
  find_package(GTest QUIET)
  if(NOT TARGET GTest::gmock)
    set(INSTALL_GTEST OFF CACHE INTERNAL "")
    FetchContent_Declare(googletest GIT_REPOSITORY https://github.com/google/googletest.git
      GIT_TAG 58d77fa8070e8cec2dc1ed015d66b454c8d78850)  # 1.12.1
    FetchContent_MakeAvailable(googletest)
  endif()
  find_package(benchmark QUIET)
  if(NOT TARGET benchmark::benchmark)
    set(BENCHMARK_ENABLE_TESTING OFF CACHE INTERNAL "")
    set(BENCHMARK_ENABLE_INSTALL OFF CACHE INTERNAL "")
    FetchContent_Declare(benchmark GIT_REPOSITORY https://github.com/google/benchmark.git
      GIT_TAG d572f4777349d43653b21d6c2fc63020ab326db2)  # 1.7.1
    FetchContent_MakeAvailable(benchmark)
  endif()
endif()
