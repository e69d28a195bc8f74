#pragma once
/// A view of heads, either in a tensor of their own or side by side in packed rows.

#include <cstdint>
#include <type_traits>

namespace attn {

/// Strides to find a head's rows: row t of head h of sequence b begins at data + b batch + h head + t row.
template <class Value>
struct HeadsView {
    Value* data = nullptr;
    std::int64_t batch = 0, head = 0, row = 0;
    /// Null if the view is empty.
    Value* at(std::int64_t b, std::int64_t h, std::int64_t t = 0) const {
        return data == nullptr ? nullptr : data + b * batch + h * head + t * row;
    }
    operator HeadsView<const Value>() const requires(!std::is_const_v<Value>) { return {data, batch, head, row}; }
};

}  // namespace attn
