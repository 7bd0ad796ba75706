//! Walking through the attempts, by hand or by the clock.

use bmax::search::Probe;

/// A way to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The clock starts, from the beginning when the search is over, or stops.
    Play,
    /// Where the reader asks for less motion there is no clock: all attempts are there at once.
    AllAtOnce,
    /// The clock makes an attempt.
    Tick,
    /// The reader makes an attempt, which stops the clock.
    Step,
    /// The reader takes one back, which stops it, too.
    Back,
    /// The reader takes all of them back.
    Restart,
}

/// Where the search stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// How many attempts have been made.
    pub made: usize,
    /// Whether the next one comes by itself.
    pub playing: bool,
    /// Whether nobody has walked yet: all attempts are there, and a first step begins with the first of them.
    pub resting: bool,
}

impl Position {
    /// Where a search stands that nobody has walked through.
    const fn at_rest(trace: &[Probe]) -> Self {
        Self { made: trace.len(), playing: false, resting: true }
    }
}

/// The walk.
///
/// A position belongs to the attempts it was reached in. When the scenario changes them it counts no more, and
/// the search is whole again without anything having to reset it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Player {
    of: Vec<Probe>,
    position: Position,
}

impl Player {
    /// Where the search of these attempts stands.
    pub fn position(&self, trace: &[Probe]) -> Position {
        if self.of == trace { self.position } else { Position::at_rest(trace) }
    }

    /// The walk through these attempts after a move. A move that leads nowhere changes nothing.
    pub fn after(&self, step: Move, trace: &[Probe]) -> Self {
        let Position { made, playing, resting } = self.position(trace);
        let count = trace.len();
        let (made, playing) = match step {
            Move::Play if playing => (made, false),
            Move::Play => (if made < count { made } else { 0 }, true),
            Move::AllAtOnce => (count, false),
            Move::Tick if playing => (made + 1, true),
            Move::Step if resting => (count.min(1), false),
            Move::Step if made < count => (made + 1, false),
            Move::Back if made > 0 => (made - 1, false),
            Move::Restart if made > 0 => (0, false),
            Move::Tick | Move::Step | Move::Back | Move::Restart => return self.clone(),
        };
        let position = Position { made, playing: playing && made < count, resting: false };
        Self { of: trace.to_vec(), position }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Scenario;
    use bmax::search::by_running_out;

    fn walked(moves: &[Move], trace: &[Probe]) -> Position {
        moves.iter().fold(Player::default(), |player, step| player.after(*step, trace)).position(trace)
    }

    #[test]
    fn the_clock_walks_to_the_end_and_stops_there() {
        let trace = by_running_out(&Scenario::workshop());
        let mut moves = vec![Move::Play];
        moves.resize(trace.len() + 1, Move::Tick);
        assert_eq!(walked(&moves[..1], &trace), Position { made: 0, playing: true, resting: false });
        assert!(walked(&moves[..trace.len()], &trace).playing);
        assert_eq!(walked(&moves, &trace), Position { made: trace.len(), playing: false, resting: false });
        moves.push(Move::Play);
        assert_eq!(walked(&moves, &trace), Position { made: 0, playing: true, resting: false });
    }

    #[test]
    fn whoever_steps_stops_the_clock_and_never_leaves_the_attempts() {
        let trace = by_running_out(&Scenario::workshop());
        let stopped = Position { made: 1, playing: false, resting: false };
        assert_eq!(walked(&[Move::Play, Move::Step], &trace), stopped);
        assert_eq!(walked(&[Move::Step, Move::Tick], &trace), stopped);
        assert_eq!(walked(&[Move::Step, Move::Step, Move::Back], &trace), stopped);
        assert_eq!(walked(&[Move::Back, Move::Restart], &trace), Position::default());
        assert_eq!(walked(&[Move::Restart, Move::Restart, Move::Step], &trace), stopped);
        assert_eq!(walked(&[Move::AllAtOnce, Move::Step], &trace).made, trace.len());
    }

    #[test]
    fn whoever_has_not_walked_yet_sees_the_whole_search_and_begins_with_its_first_attempt() {
        let trace = by_running_out(&Scenario::workshop());
        assert_eq!(walked(&[], &trace), Position { made: trace.len(), playing: false, resting: true });
        assert_eq!(walked(&[Move::Step], &trace).made, 1);
        assert_eq!(walked(&[Move::Back], &trace).made, trace.len() - 1);
    }

    #[test]
    fn other_attempts_are_whole_again() {
        let mut scenario = Scenario::workshop();
        let trace = by_running_out(&scenario);
        let player = Player::default().after(Move::Step, &trace).after(Move::Play, &trace);
        scenario.cluster.gpus = 64;
        let others = by_running_out(&scenario);
        assert_ne!(trace, others);
        assert_eq!(player.position(&others), Position::at_rest(&others));
        assert_eq!(player.after(Move::Step, &others).position(&others).made, 1);
    }
}
