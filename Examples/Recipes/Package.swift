// swift-tools-version: 6.2

import PackageDescription

// The programs of the guides of recipes without other packages, a target each.
let recipes = [
  "Appearing", "Asking", "Claiming", "CommandLine", "Daemon", "FindingOut", "LastOfEach",
  "Progress", "SlowingDown", "StartingLate", "ViewModel", "WaitingForOne",
  "WorkQueue", "Workers",
]

let package = Package(
  name: "recipes",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "campanile", path: "../..")],
  targets: recipes.map { name in
    .executableTarget(
      name: name,
      dependencies: ["Campanile", "CampanileInspector", "CampanileRelay"].map {
        .product(name: $0, package: "campanile")
      },
      swiftSettings: [.treatAllWarnings(as: .error)]
    )
  },
  swiftLanguageModes: [.v6]
)
