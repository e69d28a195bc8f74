#pragma once
/// The Markdown of the help pages: headings, paragraphs, lists, tables and indented code, with `code`, **strong**, *emphasis* and links.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/widgets/ui.hpp"

namespace attn::app {

/// Words in one style.
struct TextRun {
    enum class Style : std::uint8_t { Plain, Strong, Code };
    std::string text;
    Style style = Style::Plain;
};

struct MarkdownBlock {
    enum class Kind : std::uint8_t { Heading, Paragraph, Item, Row, Code };
    Kind kind = Kind::Paragraph;
    int level = 0;                            ///< of a heading, from 1
    std::string marker;                       ///< of an item of a list: "•" or "1."
    std::vector<std::vector<TextRun>> cells;  ///< those of a row of a table; one for everything else

    /// All of its words, without their styles.
    std::string text() const;
};

/// The blocks in their order. The heading of a table is left out: its columns are told apart by their looks.
std::vector<MarkdownBlock> parse_markdown(std::string_view text);

/// At ImGui's cursor, as wide as the pane.
void draw_markdown(const Ui& ui, std::span<const MarkdownBlock> blocks);

}  // namespace attn::app
