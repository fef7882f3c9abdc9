/// How long the processes of a bus wait for one that is silent, in tenths of a second.
package struct SilenceLimits: Sendable {
  /// How long a hub is silent before a member takes over.
  package var ofHub = 5
  /// How long a member is silent before its hub no longer waits for it.
  package var ofMembers = 5

  package init() {}

  package init(ofHub: Int, ofMembers: Int = 5) {
    (self.ofHub, self.ofMembers) = (ofHub, ofMembers)
  }
}
