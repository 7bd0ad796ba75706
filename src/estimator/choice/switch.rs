//! A plain switch.

choices! {
    /// A plain switch.
    Switch {
        /// Not in use.
        Off = "off", "off", "Not in use.";
        /// In use.
        On = "on", "on", "In use.";
    }
}

impl Switch {
    /// Whether the switch is on.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

impl From<bool> for Switch {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}
