# SPDX-License-Identifier: Apache-2.0
# The document of conf/sbom/build, of its lists $packages[0] and $files[0].
def id: gsub("[^A-Za-z0-9.-]"; "-");
def relation(from; type; to): {spdxElementId: from, relationshipType: type, relatedSpdxElement: to};

"SPDXRef-multikueued" as $self |
{
	spdxVersion: "SPDX-2.3",
	dataLicense: "CC0-1.0",
	SPDXID: "SPDXRef-DOCUMENT",
	name: "multikueued-\($version)",
	documentNamespace: "https://spdx.org/spdxdocs/multikueued-\($version)-\($unique)",
	creationInfo: {created: $created, creators: ["Tool: multikueued-make-sbom-\($version)"]},
	packages: ([{
		SPDXID: $self,
		name: "multikueued",
		versionInfo: $version,
		downloadLocation: "NOASSERTION",
		filesAnalyzed: true,
		packageVerificationCode: {packageVerificationCodeValue: $codes},
		licenseConcluded: "Apache-2.0",
		licenseInfoFromFiles: ["Apache-2.0"],
		licenseDeclared: "Apache-2.0",
		copyrightText: "the authors of multikueued",
		primaryPackagePurpose: "APPLICATION"
	}] + [$packages[0][] | {
		SPDXID: "SPDXRef-Package-\(.name | id)",
		name: .name,
		versionInfo: .version,
		supplier: "Organization: Debian",
		downloadLocation: "NOASSERTION",
		filesAnalyzed: false,
		licenseConcluded: .licence,
		licenseDeclared: .licence,
		licenseComments: "Of the library; its copyright file has the SHA-256 \(.sum).",
		copyrightText: "NOASSERTION",
		primaryPackagePurpose: "LIBRARY",
		externalRefs: [{
			referenceCategory: "PACKAGE-MANAGER",
			referenceType: "purl",
			referenceLocator: "pkg:deb/debian/\(.name)@\(.version | @uri)?arch=\(.arch)"
		}]
	}]),
	files: [$files[0][] | {
		SPDXID: "SPDXRef-File-\(.path | ltrimstr("./") | id)",
		fileName: .path,
		fileTypes: ["BINARY"],
		checksums: [{algorithm: "SHA1", checksumValue: .sha1}, {algorithm: "SHA256", checksumValue: .sha256}],
		licenseConcluded: "Apache-2.0",
		licenseInfoInFiles: ["Apache-2.0"],
		copyrightText: "the authors of multikueued"
	}],
	relationships: ([relation("SPDXRef-DOCUMENT"; "DESCRIBES"; $self)] +
		[$files[0][] | relation($self; "CONTAINS"; "SPDXRef-File-\(.path | ltrimstr("./") | id)")] +
		[$packages[0][] | relation($self; if .how == "static" then "STATIC_LINK" else "DYNAMIC_LINK" end;
			"SPDXRef-Package-\(.name | id)")])
}
