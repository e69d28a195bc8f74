# cmake -P tests/layering/picture.cmake draws the house as assets/pictures/house.svg: every folder stands above those that its files include.
# With -DCHECK=ON it fails if the picture there is another one.
include(${CMAKE_CURRENT_LIST_DIR}/rules.cmake)

# The parts of the house from top to bottom: name, what it is, and its folders.
set(PARTS
  "program"   "the window and the commands"  "^app/(main|cli|application|dev|web)$"
  "panels"    "what is seen and pressed"     "^app/panels/"
  "drawing"   "widgets, OpenGL, the system"  "^app/(widgets|render|platform)$"
  "session"   "what is shown, and threads"   "^app/session"
  "engine"    "the arithmetic"               "^engine/")

set(WIDTH 800)
set(BOX 100)  # width of a folder
set(ROW 28)   # height of a row of folders
set(FIRST 210)  # where the folders begin

# A row of folders, centred, with its top at Y.
function(draw_row FOLDERS Y RESULT)
  set(SVG "")
  list(LENGTH FOLDERS COUNT)
  math(EXPR X "${FIRST} + (${WIDTH} - 10 - ${FIRST} - ${COUNT} * (${BOX} + 8) + 8) / 2")
  foreach(FOLDER IN LISTS FOLDERS)
    get_filename_component(NAME ${FOLDER} NAME)
    math(EXPR MIDDLE "${X} + ${BOX} / 2")
    math(EXPR BASE "${Y} + 16")
    string(APPEND SVG "<rect x=\"${X}\" y=\"${Y}\" width=\"${BOX}\" height=\"22\" rx=\"3\" fill=\"#ffffff\" stroke=\"#7a8aa0\"/>\n"
                      "<text x=\"${MIDDLE}\" y=\"${BASE}\" text-anchor=\"middle\">${NAME}</text>\n")
    math(EXPR X "${X} + ${BOX} + 8")
  endforeach()
  set(${RESULT} "${SVG}" PARENT_SCOPE)
endfunction()

function(draw_house ROOT RESULT)
  read_needs(${ROOT} FOLDERS)
  list(SORT FOLDERS)
  set(BODY "")
  set(Y 10)
  set(REST "${PARTS}")
  while(REST)
    list(POP_FRONT REST NAME WORDS PATTERN)
    set(LEFT "${FOLDERS}")
    list(FILTER LEFT INCLUDE REGEX "${PATTERN}")
    list(FILTER FOLDERS EXCLUDE REGEX "${PATTERN}")
    set(ROWS "")
    set(COUNT 0)
    while(LEFT)
      lowest_of("${LEFT}" LOWEST)
      if(NOT LOWEST)
        message(FATAL_ERROR "these folders include each other in a circle: ${LEFT}")
      endif()
      list(REMOVE_ITEM LEFT ${LOWEST})
      set(ROW_${COUNT} "${LOWEST}")
      list(PREPEND ROWS ${COUNT})
      math(EXPR COUNT "${COUNT} + 1")
    endwhile()
    math(EXPR HEIGHT "${COUNT} * ${ROW} + 10")
    math(EXPR WIDE "${WIDTH} - 20")
    math(EXPR TITLE "${Y} + ${HEIGHT} / 2")
    math(EXPR BELOW "${TITLE} + 17")
    string(APPEND BODY "<rect x=\"10\" y=\"${Y}\" width=\"${WIDE}\" height=\"${HEIGHT}\" rx=\"6\" fill=\"#e8edf4\"/>\n"
                       "<text x=\"24\" y=\"${TITLE}\" font-weight=\"bold\">${NAME}</text>\n"
                       "<text x=\"24\" y=\"${BELOW}\" fill=\"#4a5668\" font-size=\"12\">${WORDS}</text>\n")
    math(EXPR ROW_Y "${Y} + 8")
    foreach(PLACE IN LISTS ROWS)
      draw_row("${ROW_${PLACE}}" ${ROW_Y} DRAWN)
      string(APPEND BODY "${DRAWN}")
      math(EXPR ROW_Y "${ROW_Y} + ${ROW}")
    endforeach()
    math(EXPR Y "${Y} + ${HEIGHT} + 8")
  endwhile()
  if(FOLDERS)
    message(FATAL_ERROR "the picture has no part for ${FOLDERS}: add them to PARTS")
  endif()
  math(EXPR Y "${Y} + 2")
  set(${RESULT} "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ${WIDTH} ${Y}\" width=\"${WIDTH}\" height=\"${Y}\" \
font-family=\"Inter, sans-serif\" font-size=\"13\">\n<rect width=\"${WIDTH}\" height=\"${Y}\" fill=\"#ffffff\"/>\n${BODY}</svg>\n" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  get_filename_component(ROOT ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
  draw_house(${ROOT} HOUSE)
  set(PICTURE ${ROOT}/assets/pictures/house.svg)
  if(CHECK)
    file(READ ${PICTURE} COMMITTED)
    if(NOT COMMITTED STREQUAL HOUSE)
      message(FATAL_ERROR "assets/pictures/house.svg does not show how the folders stand: draw it again with "
                          "cmake -P tests/layering/picture.cmake")
    endif()
  else()
    file(WRITE ${PICTURE} "${HOUSE}")
  endif()
endif()
