#pragma once
/// The Markdown subset of the help pages: headings, paragraphs, lists, tables and indented code, with `code`, **strong**, *emphasis* and
/// links.

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
    int level = 0;                            ///< level of a heading, from 1
    std::string marker;                       ///< for list items: "•" or "1."
    std::vector<std::vector<TextRun>> cells;  ///< the cells of a table row; a single one for other blocks

    /// Its text without formatting.
    std::string text() const;
};

/// The blocks in order. Header rows of tables are dropped, since the columns are self-explanatory.
std::vector<MarkdownBlock> parse_markdown(std::string_view text);

/// Draws at ImGui's cursor, as wide as the pane.
void draw_markdown(const Ui& ui, std::span<const MarkdownBlock> blocks);

}  // namespace attn::app
