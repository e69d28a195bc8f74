#pragma once
/// Short stories that a child could read, of which it is known what may come next.

#include "engine/grammar/grammar.hpp"

namespace attn {

/// "Lily and Tom are in the park . She has a red ball , but he has nothing . She gives the ball to him because he is sad . ..."
/// A girl and a boy, now and then a third child; one of them has a toy, and the story says who gives it to whom. What must
/// follow is what a reader knows: the pronoun of the right gender (used only where it can mean one child), who has the toy
/// now, singular or plural at the verb although another noun stands between, the end of a quotation, a list said again, the other side
/// of a contrast ("but"), the cause of what somebody feels ("because").
/// About 200 words and punctuation marks, each a token; a text ends with "The end ." or where there is no more room.
const Grammar& stories();

}  // namespace attn
