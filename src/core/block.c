#include "elastic/block.h"

void el_block_init(el_block_t *block, el_control_state_t control, uint64_t now)
{
    el_block_reset(block, control, now);
    block->version = EL_BLOCK_VERSION;
    block->magic = EL_BLOCK_MAGIC;
}

bool el_block_valid(const el_block_t *block)
{
    return block->magic == EL_BLOCK_MAGIC && block->version == EL_BLOCK_VERSION;
}

void el_block_reset(el_block_t *block, el_control_state_t control, uint64_t now)
{
    el_state_reset(&block->state, control, now);
    el_counters_reset(&block->counters, now);
    el_cost_reset(&block->costs);
    el_ratio_reset(&block->shares);
    el_hot_reset(&block->hot);
    atomic_store(&block->improve_at, 0);
    el_cache_state_reset(&block->cache);
    el_history_reset(&block->history);
    el_tally_reset(&block->tally);
    el_vhosts_reset(&block->vhosts);
}
