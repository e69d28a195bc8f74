#pragma once
/// The parts that the knock-out view shows: their names, their places in its picture, and how to look at one.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// What can be replaced in the shown model, in menu order: by zeros, or by the numbers of another text.
std::vector<ReplacedParts> replaceable_parts(const Structure& structure, bool by_other_text);
/// Such as "heads" or "stream": the name in the menu.
std::string_view menu_name(ReplacedParts parts);
/// Such as "heads" or "positions": what is counted and listed.
std::string_view counted_name(ReplacedParts parts);
/// Such as "a head's context": what is replaced, in a sentence.
std::string_view sentence_name(ReplacedParts parts);
/// What a click on a part leads to, such as "the head".
std::string_view opened_name(ReplacedParts parts);

/// The row of the picture: a layer, or one of the attentions in it.
std::string row_name(const PartWorth& part, ReplacedParts parts);
/// Whether the columns of an encoder and a decoder are different words.
bool has_two_texts(const KnockOut& result);
std::string column_name(const PanelContext& context, const KnockOut& result, ReplacedParts parts, std::int64_t column);
std::string part_name(const PanelContext& context, const PartWorth& part, ReplacedParts parts);

/// Shows the part in the Step view.
void open_part(PanelContext& context, const PartWorth& part, ReplacedParts parts);

}  // namespace attn::app
