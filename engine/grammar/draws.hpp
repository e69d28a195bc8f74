#pragma once
/// Random numbers drawn in sequence from a stream of their own.

#include <cstdint>

#include "engine/tensor/random.hpp"

namespace attn {

class Draws {
public:
    Draws(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}
    /// Uniform in 0 .. count - 1.
    std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(random_.bits(next_++) % static_cast<std::uint64_t>(count)); }
    double uniform() { return random_.uniform(next_++); }

private:
    CounterRandom random_;
    std::uint64_t next_ = 0;
};

}  // namespace attn
