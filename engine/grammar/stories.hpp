#pragma once
/// Short children's stories in which the distribution of every next word is known.

#include <vector>

#include "engine/grammar/grammar.hpp"

namespace attn {

/// "Lily and Tom are in the park . She has a red ball , but he has nothing . She gives the ball to him because he is sad . ..."
/// A girl and a boy, sometimes a third child; one of them has a toy, and the story says who gives it to whom. A reader can infer what must
/// follow: the pronoun of the right gender (used only where it is unambiguous), who has the toy now, the number of a verb separated from
/// its noun by another noun, the end of a quotation, a repeated list, the other side of a contrast ("but"), the cause of a feeling
/// ("because").
/// About 200 words and punctuation marks, each a token; a text ends with "The end ." or when there is no more room.
const Grammar& stories();

/// For every word of the stories, whether it is the name of a child or of a toy: what a story can call by any other word.
const std::vector<bool>& names_and_toys();

}  // namespace attn
