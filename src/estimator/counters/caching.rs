//! PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp, 2.15) on a trace that is played in full: which bytes are
//! live, rests that are not split off among them, and which are reserved. What one stream frees is given to that stream alone.

use std::collections::BTreeSet;

use super::blocks;
use crate::estimator::choice::Segments;
use crate::estimator::counters::GRAIN;
use crate::estimator::operators::Stream;
use crate::estimator::step::{Event, Moment, Trace};
use crate::estimator::units::Widths;

const MIB: u64 = 1 << 20;
/// `kSmallSize`: up to here a block is in the pool of small ones.
const SMALL: u64 = MIB;
/// `kSmallBuffer`, `kLargeBuffer`: what either pool gets from the driver at once, or a page of a growing segment.
const BUFFERS: [u64; 2] = [2 * MIB, 20 * MIB];
/// A small and a large one for each stream.
const POOLS: usize = 2 * Stream::COUNT;
/// `kMinLargeAlloc`: from here a segment is as large as its first block.
const LARGE: u64 = 10 * MIB;
/// `kRoundLarge`: in multiples of this.
const LARGE_STEP: u64 = 2 * MIB;

/// The device has no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// The most bytes of the last step that a replay found live, and reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The most bytes that were live, as `max_memory_allocated` says them.
    pub live: u64,
    /// The most bytes that were reserved, as `max_memory_reserved` says them.
    pub reserved: u64,
}

/// The bytes that a pool gets from the driver at once.
const fn buffer(pool: usize) -> u64 {
    BUFFERS[pool % 2]
}

/// A block by its number.
type Number = u32;

#[derive(Clone, Copy, Debug)]
struct Block {
    size: u64,
    address: u64,
    pool: usize,
    is_free: bool,
    before: Option<Number>,
    after: Option<Number>,
}

/// Free blocks by size and address. Segments get rising addresses, so that of blocks of one size the one in the oldest
/// segment is the lowest (`BlockComparatorSize`: size, `registration_counter`, address).
#[derive(Clone, Debug, Default)]
struct Pool(BTreeSet<(u64, u64, Number)>);

impl Pool {
    /// The smallest block of at least `size`, of those the lowest; the end of a segment that can grow only if there is
    /// no other (`get_free_block`).
    fn take(&mut self, size: u64, tail: Option<Number>) -> Option<Number> {
        let mut fits = self.0.range((size, 0, 0)..);
        let &first = fits.next()?;
        let &found = if tail == Some(first.2) { fits.next().unwrap_or(&first) } else { &first };
        self.0.remove(&found);
        Some(found.2)
    }
}

/// The allocator, and the most that it has held.
#[derive(Clone, Debug)]
pub struct Caching {
    segments: Segments,
    limit: u64,
    reserved: u64,
    live: u64,
    most: Replayed,
    blocks: Vec<Block>,
    /// Numbers of blocks that are no more.
    spare: Vec<Number>,
    /// Free blocks of each stream: small ones, large ones.
    pools: [Pool; POOLS],
    /// The last block of the growing segment of each pool.
    tails: [Option<Number>; POOLS],
    next_address: u64,
}

impl Caching {
    /// An allocator to which the driver can give `limit` bytes.
    fn new(segments: Segments, limit: u64) -> Self {
        Self {
            segments,
            limit,
            reserved: 0,
            live: 0,
            most: Replayed { live: 0, reserved: 0 },
            blocks: Vec::new(),
            spare: Vec::new(),
            pools: Default::default(),
            tails: [None; POOLS],
            next_address: 0,
        }
    }

    /// Replays a trace that was played in full at a micro-batch, with so much memory.
    pub fn replay(
        trace: &Trace,
        widths: &Widths,
        batch: u64,
        segments: Segments,
        limit: u64,
    ) -> Result<Replayed, OutOfMemory> {
        Self::replay_from(trace.last_step(), trace, widths, batch, segments, limit)
    }

    /// The same, with the most that was held from a place on among the events.
    pub fn replay_from(
        begin: usize,
        trace: &Trace,
        widths: &Widths,
        batch: u64,
        segments: Segments,
        limit: u64,
    ) -> Result<Replayed, OutOfMemory> {
        let sizes = blocks(&trace.registry, &widths.at(batch));
        let streams: Vec<_> = trace.registry.all().map(|(tensor, ..)| tensor.stream()).collect();
        let (mut caching, mut numbers) = (Self::new(segments, limit), vec![Number::MAX; trace.storages]);
        for (position, event) in trace.events.iter().enumerate() {
            if position == begin {
                // `reset_peak_memory_stats`.
                caching.most = Replayed { live: caching.live, reserved: caching.reserved };
            }
            match *event {
                Event::Allocate(tensor, storage) if sizes[tensor.index()] > 0 => {
                    numbers[storage.0 as usize] = caching.allocate(sizes[tensor.index()], streams[tensor.index()])?;
                }
                Event::Free(tensor, storage) if sizes[tensor.index()] > 0 => {
                    caching.free(numbers[storage.0 as usize]);
                }
                // `empty_cache`, which the recorded runs call when the model is there.
                Event::Mark(Moment::Loaded) | Event::EmptyCache => caching.give_back(),
                _ => {}
            }
        }
        Ok(caching.most)
    }

    /// `malloc`: the smallest free block that is large enough, or more from the driver; what is left over is split off.
    fn allocate(&mut self, size: u64, stream: Stream) -> Result<Number, OutOfMemory> {
        let is_large = size > SMALL;
        let pool = 2 * stream as usize + usize::from(is_large);
        let number = match self.pools[pool].take(size, self.tails[pool]) {
            Some(number) => number,
            None if self.segments == Segments::Fixed => self.get_segment(size, pool)?,
            None => self.grow(size, pool)?,
        };
        let rest = self.blocks[number as usize].size - size;
        // `should_split`.
        let splits = if !is_large || self.segments == Segments::Expandable { rest >= GRAIN } else { rest > SMALL };
        if splits {
            self.split(number, size, rest);
        }
        // A rest that is not split off counts as live.
        let block = &mut self.blocks[number as usize];
        block.is_free = false;
        self.live += block.size;
        self.most.live = self.most.live.max(self.live);
        Ok(number)
    }

    fn split(&mut self, number: Number, size: u64, rest: u64) {
        let Block { address, pool, after, .. } = self.blocks[number as usize];
        let second = Block { size: rest, address: address + size, pool, is_free: true, before: Some(number), after };
        let second = self.make(second);
        let block = &mut self.blocks[number as usize];
        (block.size, block.after) = (size, Some(second));
        self.link_back(after, second);
        if self.tails[pool] == Some(number) {
            self.tails[pool] = Some(second);
        }
        self.insert(second);
    }

    /// Frees a block and joins it with free neighbours (`try_merge_blocks`).
    fn free(&mut self, mut number: Number) {
        self.blocks[number as usize].is_free = true;
        let Block { before, after, size, .. } = self.blocks[number as usize];
        self.live -= size;
        if let Some(after) = after.filter(|&after| self.blocks[after as usize].is_free) {
            self.remove(after);
            self.join(number, after);
        }
        if let Some(before) = before.filter(|&before| self.blocks[before as usize].is_free) {
            self.remove(before);
            self.join(before, number);
            number = before;
        }
        self.insert(number);
    }

    fn join(&mut self, first: Number, second: Number) {
        let Block { size, after, pool, .. } = self.blocks[second as usize];
        self.blocks[first as usize].size += size;
        self.blocks[first as usize].after = after;
        self.link_back(after, first);
        if self.tails[pool] == Some(second) {
            self.tails[pool] = Some(first);
        }
        self.spare.push(second);
    }

    fn link_back(&mut self, block: Option<Number>, before: Number) {
        block.into_iter().for_each(|block| self.blocks[block as usize].before = Some(before));
    }

    /// `alloc_block`: a segment of its own, of `get_allocation_size`.
    fn get_segment(&mut self, size: u64, pool: usize) -> Result<Number, OutOfMemory> {
        let segment = if size < LARGE { buffer(pool) } else { size.next_multiple_of(LARGE_STEP) };
        if self.reserved.saturating_add(segment) > self.limit {
            self.give_back();
        }
        self.reserve(segment)?;
        let address = self.next_address;
        // Segments are never neighbours.
        self.next_address += segment + BUFFERS[1];
        Ok(self.make(Block { size: segment, address, pool, is_free: true, before: None, after: None }))
    }

    /// `try_allocate_expandable_block`: the segment's end grows by whole pages.
    fn grow(&mut self, size: u64, pool: usize) -> Result<Number, OutOfMemory> {
        let end = self.tails[pool].filter(|&tail| self.blocks[tail as usize].is_free);
        let there = end.map_or(0, |tail| self.blocks[tail as usize].size);
        let more = (size - there).next_multiple_of(buffer(pool));
        self.reserve(more)?;
        if let Some(tail) = end {
            self.remove(tail);
            self.blocks[tail as usize].size += more;
            return Ok(tail);
        }
        let before = self.tails[pool];
        let address = match before {
            Some(tail) => self.blocks[tail as usize].address + self.blocks[tail as usize].size,
            None => (pool as u64) << 60,
        };
        let number = self.make(Block { size: more, address, pool, is_free: true, before, after: None });
        before.into_iter().for_each(|tail| self.blocks[tail as usize].after = Some(number));
        self.tails[pool] = Some(number);
        Ok(number)
    }

    fn reserve(&mut self, bytes: u64) -> Result<(), OutOfMemory> {
        let reserved = self.reserved.saturating_add(bytes);
        if reserved > self.limit {
            return Err(OutOfMemory);
        }
        self.reserved = reserved;
        self.most.reserved = self.most.reserved.max(reserved);
        Ok(())
    }

    /// `release_cached_blocks`: segments in which nothing is used go back to the driver.
    fn give_back(&mut self) {
        if self.segments == Segments::Expandable {
            return (0..POOLS).for_each(|pool| self.unmap(pool));
        }
        let Self { pools, blocks, spare, reserved, .. } = self;
        for pool in pools {
            pool.0.retain(|&(size, _, number)| {
                let block = &blocks[number as usize];
                let is_whole = block.before.is_none() && block.after.is_none();
                if is_whole {
                    *reserved -= size;
                    spare.push(number);
                }
                !is_whole
            });
        }
    }

    /// `unmap_block`, of the end of a growing segment alone: whole pages that are free go back.
    fn unmap(&mut self, pool: usize) {
        let Some(tail) = self.tails[pool].filter(|&tail| self.blocks[tail as usize].is_free) else { return };
        let Block { size, before, .. } = self.blocks[tail as usize];
        let pages = size / buffer(pool) * buffer(pool);
        self.remove(tail);
        self.reserved -= pages;
        self.blocks[tail as usize].size -= pages;
        if size > pages {
            return self.insert(tail);
        }
        self.spare.push(tail);
        self.tails[pool] = before;
        before.into_iter().for_each(|before| self.blocks[before as usize].after = None);
    }

    fn make(&mut self, block: Block) -> Number {
        if let Some(number) = self.spare.pop() {
            self.blocks[number as usize] = block;
            return number;
        }
        self.blocks.push(block);
        self.blocks.len() as Number - 1
    }

    fn insert(&mut self, number: Number) {
        let Block { size, address, pool, .. } = self.blocks[number as usize];
        self.pools[pool].0.insert((size, address, number));
    }

    fn remove(&mut self, number: Number) {
        let Block { size, address, pool, .. } = self.blocks[number as usize];
        self.pools[pool].0.remove(&(size, address, number));
    }
}
