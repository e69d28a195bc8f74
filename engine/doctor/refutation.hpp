#pragma once
/// Quick tests of whether an assumption may explain what differs, before everything is judged again under it. In a long text, what does not
/// even explain the head with the first difference is refuted much faster there than in all heads.

#include "engine/doctor/trial.hpp"

namespace attn::doctor {

/// Whether a sequence is long enough for one of its heads to be looked at first.
bool is_long(const Sequence& sequence);
/// The head with the first difference.
std::int64_t telling_head(const Trial& trial);
/// Whether the weights of a softmax over the heads may be recorded, judged by the cell that differs first.
bool heads_may_sum_to_one(const Trial& trial);

/// Whether all of an assumed sequence may be right.
bool may_be_right(const Trial& trial, const Sequence& assumed, const Known& known);
/// Whether a judgement of an assumed sequence may explain everything, even if only by a mistake.
bool may_explain(const Trial& trial, const Sequence& assumed, const Known& known);
/// Whether the first difference disappears under some plausible mask: the cheap part of judging again.
bool explains_more(const Trial& trial, const Sequence& assumed);
/// Whether all differences do.
bool explains_all(const Trial& trial, const Sequence& assumed);

}  // namespace attn::doctor
